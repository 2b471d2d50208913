import type { ComponentType } from "react";
import { createBrowserRouter, Navigate } from "react-router";
import { Loading } from "../parts/Loading";
import { RequireOperator } from "../session/RequireOperator";
import { RequireSession } from "../session/RequireSession";
import { again } from "../shell/again";
import { BrokenPage } from "./BrokenPage";
import { NotFoundPage } from "./NotFoundPage";

/** A page that is fetched when it is opened. */
function page<M, K extends keyof M>(load: () => Promise<M>, name: K) {
  const loaded = again(load);
  return async () => ({ Component: (await loaded())[name] as ComponentType });
}

/** Where everything is. */
export const routes = createBrowserRouter([
  {
    errorElement: <BrokenPage />,
    HydrateFallback: Loading,
    children: [
      { path: "/sign-in", lazy: page(() => import("../identity/SignInPage"), "SignInPage") },
      { path: "/sign-up", lazy: page(() => import("../identity/SignUpPage"), "SignUpPage") },
      { path: "/verify", lazy: page(() => import("../identity/VerifyPage"), "VerifyPage") },
      { path: "/reset", lazy: page(() => import("../identity/ResetPage"), "ResetPage") },
      {
        element: <RequireSession />,
        children: [
          {
            lazy: page(() => import("./Frame"), "Frame"),
            children: [
              { path: "/", element: <Navigate to="/market" replace /> },
              { path: "/market", lazy: page(() => import("../market/MarketPage"), "MarketPage") },
              { path: "/instances", lazy: page(() => import("../instances/InstancesPage"), "InstancesPage") },
              {
                path: "/instances/:id",
                lazy: page(() => import("../instance/InstancePage"), "InstancePage"),
              },
              { path: "/bill", lazy: page(() => import("../bill/BillPage"), "BillPage") },
              {
                path: "/settings/:panel?",
                lazy: page(() => import("../settings/SettingsPage"), "SettingsPage"),
              },
              { path: "/members", lazy: page(() => import("../members/MembersPage"), "MembersPage") },
              {
                path: "/operator",
                element: <RequireOperator />,
                children: [
                  { index: true, element: <Navigate to="/operator/nodes" replace /> },
                  { path: "nodes", lazy: page(() => import("../operator/nodes/NodesPage"), "NodesPage") },
                  {
                    path: "accounts",
                    lazy: page(() => import("../operator/accounts/AccountsPage"), "AccountsPage"),
                  },
                  {
                    path: "accounts/:id",
                    lazy: page(() => import("../operator/accounts/AccountPage"), "AccountPage"),
                  },
                  { path: "users", lazy: page(() => import("../operator/users/UsersPage"), "UsersPage") },
                  {
                    path: "invitations",
                    lazy: page(() => import("../operator/invitations/InvitationsPage"), "InvitationsPage"),
                  },
                  { path: "prices", lazy: page(() => import("../operator/prices/PricesPage"), "PricesPage") },
                  {
                    path: "audit-log",
                    lazy: page(() => import("../operator/audit/AuditLogPage"), "AuditLogPage"),
                  },
                  {
                    path: "incidents",
                    lazy: page(() => import("../operator/incidents/IncidentsPage"), "IncidentsPage"),
                  },
                ],
              },
              { path: "*", element: <NotFoundPage /> },
            ],
          },
        ],
      },
    ],
  },
]);
