import { Spin } from "antd";

/** Something is being fetched. */
export function Loading() {
  return (
    <div className="loading" role="status" aria-busy="true">
      <Spin />
    </div>
  );
}
