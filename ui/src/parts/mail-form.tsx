import { useEffect, useState, type ReactNode } from 'react';
import { get, inCity, post, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { useWishes } from '../lib/wishes.js';
import { useAgentNames } from '../live/agents.js';
import { follow } from '../live/operations.js';
import { done } from '../live/undo.js';
import { Button, Field, Problem } from './basics.js';

interface Props {
  readonly city: string;
  readonly to: string;
  readonly onDone: (who: string) => void;
  readonly onCancel: () => void;
}

/** A message to somebody, or to all agents. */
export function MailForm({ city, to: first, onDone, onCancel }: Props): ReactNode {
  const names = useAgentNames(city);
  const [to, setTo] = useState(first);
  const [cc, setCc] = useState('');
  const [all, setAll] = useState(false);
  const [subject, setSubject] = useState('');
  const [body, setBody] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const wishes = useWishes();
  const not = useForbidden(needs.sendMail, needs.broadcastMail);
  const incomplete = subject.trim() === '' || (!all && to.trim() === '');
  const send = (): void => {
    // Its keys send the form also while its button waits, or is off.
    if (busy || not !== undefined || incomplete) return;
    setBusy(true);
    setError(undefined);
    const copies = cc.split(',').flatMap((one) => (one.trim() === '' ? [] : [one.trim()]));
    const message = { subject: subject.trim(), body, ...(all ? {} : { to: to.trim(), ...(copies.length === 0 ? {} : { cc: copies }) }) };
    const path = inCity(city, all ? 'mail/broadcast' : 'mail');
    const wish = wishes.send([path, message], (idempotencyKey) => post<{ request_id?: string }>(path, message, { idempotencyKey }));
    wish.then(
      (sent) => {
        if (sent.request_id !== undefined) void follow('Message to every agent', sent.request_id);
        onDone(all ? 'everybody' : to.trim());
      },
      (refused: unknown) => {
        setError(refused);
        setBusy(false);
      },
    );
  };
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label className="flex min-h-8 items-center gap-2 text-sm">
        <input type="checkbox" checked={all} onChange={(event) => setAll(event.target.checked)} />
        To every agent
      </label>
      {!all && (
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="To" hint="An agent, a named session, or human.">
            {(id) => (
              <>
                <input
                  id={id}
                  required
                  data-first=""
                  maxLength={255}
                  list={`${id}-names`}
                  value={to}
                  onChange={(event) => setTo(event.target.value)}
                  className="field"
                />
                <datalist id={`${id}-names`}>
                  {['human', ...names].map((name) => (
                    <option key={name} value={name} />
                  ))}
                </datalist>
              </>
            )}
          </Field>
          <Field label="Copies to" hint="By commas; may stay empty.">
            {(id) => <input id={id} value={cc} onChange={(event) => setCc(event.target.value)} className="field" />}
          </Field>
        </div>
      )}
      <Field label="Subject">
        {(id) => (
          <input id={id} required maxLength={500} value={subject} onChange={(event) => setSubject(event.target.value)} className="field" />
        )}
      </Field>
      <Field label="Text">
        {(id) => (
          <textarea
            id={id}
            rows={8}
            value={body}
            onChange={(event) => setBody(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) event.currentTarget.form?.requestSubmit();
            }}
            className="field"
          />
        )}
      </Field>
      {error !== undefined && <Problem error={error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" hotkey="mod+enter" not={not} disabled={busy || incomplete}>
          Send
        </Button>
      </div>
    </form>
  );
}

/** How long unread mail is kept. */
export function MailSettingsForm({ city, onDone }: { city: string; onDone: () => void }): ReactNode {
  const [now, setNow] = useState<string | null>();
  const [keep, setKeep] = useState('');
  const [error, setError] = useState<unknown>();
  const not = useForbidden(needs.setMailSettings);
  const path = inCity(city, 'mail/settings');
  useEffect(() => {
    const stop = new AbortController();
    get<Schemas['MailSettings']>(path, { signal: stop.signal })
      .then(({ unread_retention: found }) => {
        setNow(found);
        setKeep(found ?? '');
      })
      .catch((refused: unknown) => stop.signal.aborted || setError(refused));
    return () => stop.abort();
  }, [path]);
  const save = (unread: string | null): Promise<unknown> => request('PUT', path, { body: { unread_retention: unread } });
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        const before = now ?? null;
        save(keep.trim() === '' ? null : keep.trim()).then(() => {
          done('The mail settings are saved', () => save(before));
          onDone();
        }, setError);
      }}
    >
      <Field label="Unread mail is kept for" hint="A duration such as 720h; empty: for ever.">
        {(id) => (
          <input
            id={id}
            autoFocus
            disabled={now === undefined}
            value={keep}
            onChange={(event) => setKeep(event.target.value)}
            className="field"
          />
        )}
      </Field>
      {error !== undefined && <Problem error={error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" look="primary" not={not} disabled={now === undefined}>
          Save
        </Button>
      </div>
    </form>
  );
}
