import { Outlet } from "react-router";
import { NotFoundPage } from "../app/NotFoundPage";
import { useAccount } from "./AccountProvider";

/** The operator's pages do not exist for others. */
export function RequireOperator() {
  return useAccount().may("see-site") ? <Outlet /> : <NotFoundPage />;
}
