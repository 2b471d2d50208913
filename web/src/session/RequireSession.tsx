import { Navigate, Outlet, useLocation } from "react-router";
import { LiveProvider } from "../live/LiveProvider";
import { Loading } from "../parts/Loading";
import { Refusal } from "../parts/Refusal";
import { AccountProvider } from "./AccountProvider";
import { useSession } from "./useSession";

/** Lets only signed-in users through; others sign in and come back. */
export function RequireSession() {
  const { who, error } = useSession();
  const { pathname, search } = useLocation();
  if (who === null) {
    const here = pathname + search;
    return <Navigate to={here === "/" ? "/sign-in" : `/sign-in?next=${encodeURIComponent(here)}`} replace />;
  }
  if (who === undefined) {
    return error ? (
      <main className="alone">
        <Refusal error={error} />
      </main>
    ) : (
      <Loading />
    );
  }
  return (
    <AccountProvider who={who}>
      <LiveProvider>
        <Outlet />
      </LiveProvider>
    </AccountProvider>
  );
}
