import { useText } from "../i18n/useText";
import { Loading } from "../parts/Loading";
import { Refusal } from "../parts/Refusal";
import { HappenedItem } from "./HappenedItem";
import { useInstanceEvents } from "./useInstance";

/** What happened to the instance, newest first. */
export function EventsTab({ id }: { id: string }) {
  const { t } = useText();
  const { data, error } = useInstanceEvents(id);
  if (!data) return error ? <Refusal error={error} /> : <Loading />;
  const events = [...data.items].sort((a, b) => b.seq - a.seq);
  return (
    <ol className="events" aria-label={t("instance.history")} data-testid="events">
      {events.map((event) => (
        <HappenedItem key={event.id} event={event} />
      ))}
    </ol>
  );
}
