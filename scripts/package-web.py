#!/usr/bin/env python3
"""Puts the module, the styles and the scripts of web/lab into one page: package-web.py MODULE OUT LIMIT."""

import base64
import gzip
import hashlib
import json
import lzma
import pathlib
import sys


# What web/lab/unpack.js reads.
LZMA = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}


def main(module: str, out: str, limit: str) -> None:
    root = pathlib.Path(__file__).resolve().parent.parent / "web"
    lab = root / "lab"
    code = pathlib.Path(module).read_bytes()
    packed = len(code).to_bytes(4, "big") + lzma.compress(code, lzma.FORMAT_RAW, filters=[LZMA])
    worker = (lab / "unpack.js").read_text() + (lab / "worker.js").read_text()
    # As JSON inside a script: nothing in it ends the element.
    quoted = json.dumps(worker).replace("</", "<\\/")
    script = f"const WORKER = {quoted};\n"
    script += "".join(part.read_text() for part in sorted(lab.glob("[0-9]-*.js")))
    if "</script" in script:
        raise SystemExit("error: a script would end its element")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}' 'wasm-unsafe-eval'; worker-src blob:; "
        "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    style = (root / "report" / "page.css").read_text() + (lab / "lab.css").read_text()
    page = (lab / "lab.html").read_text()
    for name, text in [
        ("@POLICY@", policy),
        ("@STYLE@", style),
        ("@WASM@", base64.b64encode(packed).decode()),
        ("@SCRIPT@", script),
    ]:
        if page.count(name) != 1:
            raise SystemExit(f"error: {name} is in the page {page.count(name)} times")
        page = page.replace(name, text)
    pathlib.Path(out).write_text(page)
    whole = len(gzip.compress(page.encode(), 9))
    print(f"{out}: {whole} bytes gzipped, {len(page.encode())} bytes; module {len(code)}, {len(packed)} packed")
    if whole > int(limit):
        raise SystemExit(
            f"error: the page has {whole} bytes gzipped, more than {limit}\n"
            "hint: docs/internals/web.md has what it consists of, and how that is listed"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
