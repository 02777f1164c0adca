#!/usr/bin/env python3
"""Puts the module, the styles and the scripts of web/lab into one page: package-web.py MODULE OUT."""

import base64
import gzip
import hashlib
import json
import pathlib
import sys


def main(module: str, out: str) -> None:
    root = pathlib.Path(__file__).resolve().parent.parent / "web"
    lab = root / "lab"
    packed = gzip.compress(pathlib.Path(module).read_bytes(), 9, mtime=0)
    worker = (lab / "worker.js").read_text()
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
    size = pathlib.Path(module).stat().st_size
    print(f"{out}: {whole} bytes gzipped, {len(page.encode())} bytes; module {size}, {len(packed)} gzipped")
    if whole > 500_000:
        raise SystemExit("error: the page is larger than 500 KB gzipped")


if __name__ == "__main__":
    main(*sys.argv[1:])
