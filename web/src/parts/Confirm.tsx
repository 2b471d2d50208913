import { Button, type ButtonProps, Popconfirm } from "antd";
import type { ReactNode } from "react";

type Props = {
  children: ReactNode;
  title: string;
  /** What follows from it. */
  about?: ReactNode;
  onConfirm: () => void;
  button?: ButtonProps & { "data-testid"?: string };
};

/** A button that says what will happen before it happens. */
export function Confirm({ children, title, about, onConfirm, button }: Props) {
  return (
    <Popconfirm
      title={title}
      description={about && <div className="confirm-about">{about}</div>}
      onConfirm={onConfirm}
      okText={children}
      okButtonProps={{ danger: button?.danger }}
      placement="bottomRight"
    >
      <Button {...button}>{children}</Button>
    </Popconfirm>
  );
}
