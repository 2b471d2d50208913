import { useSite } from "../session/useSite";

/** Whose console this is. */
export function Brand() {
  const site = useSite();
  return (
    <span className="brand">
      <img src="/icon.svg" alt="" width={24} height={24} />
      <span>{site?.name ?? "Suanli"}</span>
    </span>
  );
}
