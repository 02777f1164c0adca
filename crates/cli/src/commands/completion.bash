# Completes words that contain a colon, at which bash splits them.
_drivelab_joined() {
    local word place glued= at=0
    local -a words=()
    for place in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[place]}
        if [[ ${#words[@]} -gt 1 && ( -n $glued || $word == :* ) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        [[ $word == *: ]] && glued=1 || glued=
        [[ $place -eq $COMP_CWORD ]] && at=$((${#words[@]} - 1))
    done
    COMP_WORDS=("${words[@]}")
    COMP_CWORD=$at
    local current=${words[at]}
    _drivelab "$1" "$current" "${words[at-1]}"
    if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*:}"}"}")
    fi
}
