"""Writes hostile inputs into the folder $TMP: nothing here may do worse than one clear error."""
import os
import struct
from pathlib import Path

tmp = Path(os.environ["TMP"])
(tmp / "noise.tfa").write_bytes(bytes(range(256)) * 4)
(tmp / "empty.tfa").write_bytes(b"")
(tmp / "zeros.tfa").write_bytes(bytes(1000))
(tmp / "utf8.tfa").write_bytes('func @f() {\n  %x = clone "\xff'.encode("latin-1"))
(tmp / "noise.tfbc").write_bytes(b"TFBC\x01\0\0\0" + bytes(range(256)) * 4)
(tmp / "future.tfbc").write_bytes(b"TFBC\xff\xff\0\0")
(tmp / "brackets.tfa").write_text("func @main() {\n  %x = clone " + "[" * 100_000 + "]" * 100_000 + "\n  ret %x\n}\n")
(tmp / "parens.tfa").write_text("func @main() {\n  %x = iota {shape=[" + "(" * 100_000 + "1" + ")" * 100_000 + "]}\n  ret %x\n}\n")
(tmp / "nested.tfa").write_text("func @f(%x: f32) {\n  ret %x\n}\nfunc @g = " + "vmap(" * 100_000 + "@f" + ")" * 100_000 + "\n")
(tmp / "generics.tfa").write_text("func @f(%x: f32) {\n  %y = call " + "@f<a=" * 100_000 + "1" + ">" * 100_000 + "(%x)\n  ret %y\n}\n")
derived = "".join(f"func @g{k + 1} = grad(@g{k})\n" for k in range(10_000))
(tmp / "derived.tfa").write_text("func @g0(%x: f32) {\n  ret %x\n}\n" + derived)
(tmp / "control\x1b.tfa").write_text('import "\\u001b[31m\\u0000.tfa"\n')
blocks = "".join(f"%y{k} = if %p {{\n" for k in range(50_000))
(tmp / "blocks.tfa").write_text("func @main(%p: bool) {\n" + blocks)
lines = "".join(f"  %{k + 1} = add %{k}, 1.0\n" for k in range(1_000_000))
(tmp / "long.tfa").write_text("func @main() -> f32 {\n  %0 = clone 0.0\n" + lines + "  ret %1000000\n}\n")
calls = "".join(f"func @f{k}(%x: f32) -> f32 {{\n  %y = call @f{k + 1}(%x)\n  ret %y\n}}\n" for k in range(10_000))
(tmp / "calls.tfa").write_text(calls + "func @f10000(%x: f32) -> f32 {\n  ret %x\n}\n")
many = "".join(f"func @f{k}(%x: f32) -> f32 {{\n  %y = sin %x\n  ret %y\n}}\n" for k in range(100_000))
(tmp / "many.tfa").write_text(many + "func @main() -> f32 {\n  %y = call @f77777(0.0)\n  ret %y\n}\n")


def npy(name, header, data):
    header = header + " " * (63 - (len(header) + 10) % 64) + "\n"
    (tmp / name).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


npy("order.npy", "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }", bytes(16))
npy("big.npy", "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", bytes(8))
npy("object.npy", "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", bytes(8))
npy("short.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (20,), }", bytes(8))
npy("huge.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }", bytes(8))
(tmp / "noise.npy").write_bytes(bytes(range(200)))
(tmp / "noise.npz").write_bytes(b"PK\x03\x04" + bytes(range(200)))
