import { useRef, useState, useSyncExternalStore, type ReactNode } from 'react';
import { inCity, part, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { follow, whyOf } from '../live/operations.js';
import { outbox } from '../live/outbox.js';
import { Button, Problem } from './basics.js';

type Intent = Schemas['SubmitIntent'];

interface Props {
  readonly city: string;
  readonly id: string;
  readonly capabilities: Schemas['SubmissionCapabilities'] | undefined;
  /** The service has it: from now on it stands with the messages that are on their way. */
  readonly onAccepted: () => void;
}

/** What is said to a session: now, after its turn, or instead of it. */
export function Composer({ city, id, capabilities, onAccepted }: Props): ReactNode {
  const name = `svc.draft.${city}/${id}`;
  const { text, waiting, error } = useSyncExternalStore(outbox.subscribe, () => outbox.of(name));
  const [intent, setIntent] = useState<Intent>('default');
  const box = useRef<HTMLTextAreaElement>(null);
  const not = useForbidden(needs.submitSession);
  const choice = capabilities?.supports_follow_up === true || capabilities?.supports_interrupt_now === true;
  const send = async (): Promise<void> => {
    if (text.trim() === '' || not !== undefined) return;
    const wish = { message: text, intent };
    box.current?.focus();
    await outbox.send(
      name,
      wish,
      (idempotencyKey) => post<{ request_id: string }>(inCity(city, `session/${part(id)}/submit`), wish, { idempotencyKey }),
      async ({ request_id }) => {
        onAccepted();
        const end = await follow(`Message to ${id}`, request_id, true);
        if (end.type === 'request.failed') throw new Error(whyOf(end));
      },
    );
  };
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {waiting.map((sent) => (
        <p key={sent.key} className="truncate text-sm text-muted">
          Is sent: {sent.text}
        </p>
      ))}
      {error !== undefined && <Problem error={error} />}
      <div className="flex flex-wrap items-end justify-end gap-2 sm:flex-nowrap">
        <textarea
          ref={box}
          aria-label="Message"
          placeholder="Write to the agent"
          rows={Math.min(8, Math.max(1, text.split('\n').length))}
          value={text}
          onChange={(event) => outbox.write(name, event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.metaKey || event.ctrlKey) && !event.nativeEvent.isComposing) {
              event.preventDefault();
              void send();
            }
          }}
          className={`field min-w-0 flex-1 resize-none ${choice ? 'basis-full sm:basis-0' : ''}`}
        />
        {choice && (
          <select aria-label="When" value={intent} onChange={(event) => setIntent(event.target.value as Intent)} className="field w-auto">
            <option value="default">Now</option>
            {capabilities?.supports_follow_up === true && <option value="follow_up">After the turn</option>}
            {capabilities?.supports_interrupt_now === true && <option value="interrupt_now">Instead of the turn</option>}
          </select>
        )}
        <Button type="submit" look="primary" hotkey="mod+enter" not={not} disabled={text.trim() === ''}>
          Send
        </Button>
      </div>
    </form>
  );
}
