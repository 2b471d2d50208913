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
      // What asks first takes something away, unless it is what the page is for.
      okButtonProps={{ danger: button?.type !== "primary" }}
      placement="bottomRight"
    >
      <Button {...button}>{children}</Button>
    </Popconfirm>
  );
}
