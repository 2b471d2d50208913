import { useMutation } from "@tanstack/react-query";
import { App } from "antd";
import { useWords } from "./useWords";

/**
 * Something that a user does at a press: `busy` while it goes on. A refusal is
 * shown as a message, except where `quiet` says that the caller shows `error`.
 */
export function useAct<A = void>(act: (argument: A) => Promise<unknown>, options: { quiet?: boolean } = {}) {
  const { message } = App.useApp();
  const words = useWords();
  const mutation = useMutation<unknown, Error, A>({
    mutationFn: act,
    onError: (error) => {
      if (options.quiet) return;
      const { text, hint } = words(error);
      void message.error(hint ? `${text} ${hint}` : text, 6);
    },
  });
  return { run: mutation.mutate, busy: mutation.isPending, error: mutation.error, reset: mutation.reset };
}
