import { Checkbox } from "antd";
import type { Scope } from "../api/types";
import { useText } from "../i18n/useText";

type Props = { scopes: Scope[]; value?: Scope[]; onChange?: (scopes: Scope[]) => void };

/**
 * What a token may do. A component of its own, because the form would put an
 * attribute on the group of boxes that groups may not have.
 */
export function ScopeBoxes({ scopes, value, onChange }: Props) {
  const { word } = useText();
  return (
    <Checkbox.Group
      value={value}
      onChange={(list) => onChange?.(list as Scope[])}
      options={scopes.map((scope) => ({ value: scope, label: word("scope", scope) }))}
    />
  );
}
