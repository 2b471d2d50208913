import { useQueryClient } from "@tanstack/react-query";
import { Button, Drawer, Form, Input, Segmented } from "antd";
import { useRef, useState } from "react";
import { useNavigate } from "react-router";
import { api, ask, idempotencyKey } from "../api/client";
import type { Offer } from "../api/types";
import { useText } from "../i18n/useText";
import { useProjects } from "../instances/useProjects";
import { Amount } from "../parts/Amount";
import { FakeTag } from "../parts/FakeTag";
import { Refusal } from "../parts/Refusal";
import { useAct } from "../parts/useAct";
import { StopRuleFields } from "../rules/StopRuleFields";
import { useAccount } from "../session/AccountProvider";
import { cardCounts } from "./choice";
import { QuotePanel } from "./QuotePanel";
import { FRESH, rentRequest } from "./rentRequest";
import { useQuote } from "./useQuote";

type Props = { offer: Offer; cards: number; onClose: () => void };

/** Everything about one rent: how many, until when, for how much. Default export: it is fetched on demand. */
export default function RentDrawer({ offer, cards, onClose }: Props) {
  const { t } = useText();
  const { account } = useAccount();
  const projects = useProjects(account?.id);
  const client = useQueryClient();
  const navigate = useNavigate();
  const [form, setForm] = useState({ ...FRESH, count: cards });
  const request = rentRequest(offer.gpu, account?.id, form);
  const quote = useQuote(request);
  // The same wish sent twice is one rent; another wish needs another key.
  const sent = useRef({ wish: "", key: "" });
  const rent = useAct(
    async () => {
      const wish = JSON.stringify(request);
      if (sent.current.wish !== wish) sent.current = { wish, key: idempotencyKey() };
      const params = { header: { "Idempotency-Key": sent.current.key } };
      const instance = await ask(api.POST("/v1/instances", { body: request, params }));
      client.setQueryData(["instance", instance.id], instance);
      await navigate(`/instances/${instance.id}`);
    },
    { quiet: true },
  );
  const set = (change: Partial<typeof form>) => setForm((now) => ({ ...now, ...change }));
  const error = rent.error ?? quote.error;
  return (
    <Drawer
      open
      size={520}
      onClose={onClose}
      data-testid="rent-drawer"
      title={
        <span className="name-cell">
          {t("market.rent-what", { gpu: offer.name })} {offer.fake && <FakeTag />}
        </span>
      }
      footer={
        <div className="drawer-foot">
          <span className="muted small">{t("market.frozen")}</span>
          <Button
            type="primary"
            size="large"
            loading={rent.busy}
            disabled={!quote.data || quote.isError}
            onClick={() => rent.run()}
            data-testid="rent"
          >
            <span>
              {t("market.rent")}
              {quote.data && (
                <>
                  {" · "}
                  <Amount of={quote.data.quote.rate} currency={quote.data.currency} per="hour" />
                </>
              )}
            </span>
          </Button>
        </div>
      }
    >
      {error && <Refusal error={error} />}
      <Form layout="vertical" component="div" className="rent-form">
        <Form.Item label={t("market.cards")} extra={t("market.one-machine")}>
          <Segmented
            aria-label={t("market.cards")}
            value={form.count}
            options={cardCounts(offer.largest_set).map((n) => ({
              value: n,
              label: n,
              disabled: n > offer.largest_free_set,
            }))}
            onChange={(count) => set({ count })}
          />
        </Form.Item>
        <StopRuleFields form={form} currency={quote.data?.currency ?? ""} onChange={set} />
        <QuotePanel quote={quote.data} stale={quote.isFetching} idle={form.idleOn ? form.idle : undefined} />
        <details className="more">
          <summary>{t("market.more")}</summary>
          <Form.Item label={t("market.name")} htmlFor="rent-name" extra={t("market.name.more")}>
            <Input
              id="rent-name"
              value={form.name}
              maxLength={64}
              onChange={(e) => set({ name: e.target.value })}
            />
          </Form.Item>
          <Form.Item label={t("market.project")} htmlFor="rent-project" extra={t("market.project.more")}>
            <Input
              id="rent-project"
              list="rent-projects"
              value={form.project}
              maxLength={64}
              onChange={(e) => set({ project: e.target.value })}
            />
            <datalist id="rent-projects">
              {projects.map((project) => (
                <option key={project} value={project} />
              ))}
            </datalist>
          </Form.Item>
          <Form.Item label={t("market.on-start")} htmlFor="rent-on-start" extra={t("market.on-start.more")}>
            <Input.TextArea
              id="rent-on-start"
              value={form.onStart}
              autoSize={{ minRows: 2, maxRows: 8 }}
              className="mono"
              onChange={(e) => set({ onStart: e.target.value })}
            />
          </Form.Item>
        </details>
      </Form>
    </Drawer>
  );
}
