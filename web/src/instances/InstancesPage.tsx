import { Button, Checkbox, Select } from "antd";
import { useState } from "react";
import { Link } from "react-router";
import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Page } from "../parts/Page";
import { Refusal } from "../parts/Refusal";
import { useAccount } from "../session/AccountProvider";
import { InstanceRows } from "./InstanceRows";
import { useInstances } from "./useInstances";
import { useProjects } from "./useProjects";

/** What the account has rented. */
export function InstancesPage() {
  const { t } = useText();
  const { account, may } = useAccount();
  const mayRent = may("rent");
  const [all, setAll] = useState(false);
  const projects = useProjects(account?.id);
  const [chosen, choose] = useState<string>();
  // A project of another account, or one that is over, filters nothing.
  const project = projects.find((name) => name === chosen);
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInstances(
    account?.id,
    all,
    project,
  );
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  return (
    <Page
      title={t("instances.title")}
      actions={
        <>
          {projects.length > 0 && (
            <Select
              aria-label={t("instances.project")}
              data-testid="project-filter"
              value={project ?? ""}
              onChange={(name) => choose(name || undefined)}
              popupMatchSelectWidth={false}
              options={[
                { value: "", label: t("instances.projects") },
                ...projects.map((name) => ({ value: name, label: name })),
              ]}
            />
          )}
          <Checkbox checked={all} onChange={(e) => setAll(e.target.checked)}>
            {t("instances.released-too")}
          </Checkbox>
          {mayRent && (
            <Link to="/market">
              <Button type="primary" tabIndex={-1}>
                {t("instances.rent")}
              </Button>
            </Link>
          )}
        </>
      }
    >
      <InstanceRows instances={data.pages.flatMap((page) => page.items)} />
      {hasNextPage && (
        <Button className="more-button" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {t("shell.more")}
        </Button>
      )}
    </Page>
  );
}
