import qrcode from "qrcode-generator";
import { useMemo } from "react";

const MARGIN = 4;

/** A text as QR code, always dark on light, as cameras want it. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const { path, size } = useMemo(() => {
    const code = qrcode(0, "M");
    code.addData(text);
    code.make();
    const count = code.getModuleCount();
    let path = "";
    for (let y = 0; y < count; y++) {
      for (let x = 0; x < count; x++) if (code.isDark(y, x)) path += `M${x + MARGIN} ${y + MARGIN}h1v1h-1z`;
    }
    return { path, size: count + 2 * MARGIN };
  }, [text]);
  return (
    <svg className="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
