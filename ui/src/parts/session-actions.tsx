import { Link } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { get, inCity, newKey, part, post, request } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas, Session } from '../api/types.js';
import { done } from '../live/undo.js';
import { useActing } from './acting.js';
import { Button, Confirm, Field, Modal, Problem } from './basics.js';

type Dangerous = 'kill' | 'reset' | 'drain';
const DANGERS: Readonly<Record<Dangerous, { action: string; title: string; about: string }>> = {
  drain: {
    action: 'Drain',
    title: 'Drain this session?',
    about: 'It ends its turn and what it has, takes nothing new, and then its process ends.',
  },
  kill: { action: 'Kill', title: 'Kill its process?', about: 'The turn is lost where it is. The session stays, and can be woken.' },
  reset: {
    action: 'Reset',
    title: 'Reset this session?',
    about: 'Its process begins anew, without what it remembers. What was said stays readable.',
  },
};

/** The modes in which a session may ask, or not ask, before it acts; as its provider has them. */
function useModes(city: string, provider: string): readonly Schemas['OptionChoiceDTO'][] {
  const [found, setFound] = useState<readonly Schemas['OptionChoiceDTO'][]>([]);
  useEffect(() => {
    const stop = new AbortController();
    get<Schemas['ProviderPublicListBody']>(inCity(city, 'providers/public'), { signal: stop.signal })
      .then(({ items }) => {
        const options = items.find(({ name }) => name === provider)?.options_schema ?? [];
        setFound(options.find(({ key }) => key === 'permission_mode')?.choices ?? []);
      })
      .catch(() => undefined);
    return () => stop.abort();
  }, [city, provider]);
  return found;
}

interface Props {
  readonly city: string;
  readonly session: Session;
  readonly onClose: () => void;
}

/** Everything that can be done with a session beside talking to it. */
export function SessionActions({ city, session, onClose }: Props): ReactNode {
  const { id, provider, options } = session;
  // What somebody else changes meanwhile is theirs: only what is other than it was shown is changed.
  const [{ title, alias = '' }] = useState(session);
  const [name, setName] = useState(title);
  const [nick, setNick] = useState(alias);
  const modes = useModes(city, provider);
  const now = options?.permission_mode ?? '';
  const [mode, setMode] = useState(now);
  const [danger, setDanger] = useState<Dangerous>();
  const { failed, busy, act } = useActing();
  const not = useForbidden(
    needs.updateSession,
    needs.setSessionPermissionMode,
    needs.suspendSession,
    needs.wakeSession,
    needs.drainSession,
    needs.killSession,
    needs.resetSession,
  );
  const path = inCity(city, `session/${part(id)}`);
  const closed = session.state === 'closed';
  const renamed = name.trim() !== title;
  const nicknamed = nick.trim() !== alias;
  return (
    <Modal title={`Session ${id}`} onClose={onClose}>
      {failed !== undefined && <Problem error={failed} />}
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          act(
            () =>
              request('PATCH', path, {
                body: {
                  ...(renamed ? { title: name.trim() } : {}),
                  ...(nicknamed ? { alias: nick.trim() } : {}),
                },
              }),
            () => {
              done(`${id} is now called ${name.trim()}`, () =>
                request('PATCH', path, { body: { ...(renamed ? { title } : {}), ...(nicknamed ? { alias } : {}) } }),
              );
              onClose();
            },
          );
        }}
      >
        <Field label="Title">
          {(field) => <input id={field} maxLength={200} value={name} onChange={(event) => setName(event.target.value)} className="field" />}
        </Field>
        <Field label="Alias" hint="A short name by which others may write to it. It may stay empty.">
          {(field) => <input id={field} maxLength={100} value={nick} onChange={(event) => setNick(event.target.value)} className="field" />}
        </Field>
        <Button type="submit" not={not} disabled={busy || !(renamed || nicknamed)} className="self-end">
          Rename
        </Button>
      </form>
      {modes.length > 0 && !closed && (
        <form
          className="flex items-end gap-2 border-t border-line pt-4"
          onSubmit={(event) => {
            event.preventDefault();
            act(
              () => post(`${path}/permission-mode`, { permission_mode: mode }),
              () => {
                done(
                  `${id} works in the mode ${mode}`,
                  now === '' ? undefined : () => post(`${path}/permission-mode`, { permission_mode: now }),
                );
                onClose();
              },
            );
          }}
        >
          <div className="min-w-0 flex-1">
            <Field label="Mode" hint={now === '' ? 'As its provider has it.' : `Now: ${now}`}>
              {(field) => (
                <select id={field} value={mode} onChange={(event) => setMode(event.target.value)} className="field">
                  {mode === '' && <option value="">Choose one</option>}
                  {modes.map(({ value, label }) => (
                    <option key={value} value={value}>
                      {label === '' ? value : label}
                    </option>
                  ))}
                </select>
              )}
            </Field>
          </div>
          <Button type="submit" not={not} disabled={busy || mode === '' || mode === now}>
            Set
          </Button>
        </form>
      )}
      <div className="flex flex-wrap gap-2 border-t border-line pt-4">
        {!closed && (
          <>
            <Button
              not={not}
              disabled={busy}
              onClick={() =>
                act(
                  () => post(`${path}/suspend`),
                  () => {
                    done(`${id} is suspended`, () => post(`${path}/wake`));
                    onClose();
                  },
                )
              }
            >
              Suspend
            </Button>
            <Button not={not} disabled={busy} onClick={() => setDanger('drain')}>
              Drain
            </Button>
            <Button look="bad" not={not} disabled={busy} onClick={() => setDanger('kill')}>
              Kill
            </Button>
            <Button look="bad" not={not} disabled={busy} onClick={() => setDanger('reset')}>
              Reset
            </Button>
          </>
        )}
        <Link to="/c/$city/sessions/$id/timeline" params={{ city, id }} className="self-center px-2.5 text-sm text-accent underline">
          Timeline
        </Link>
        <Button look="quiet" className="ml-auto" onClick={onClose}>
          Done
        </Button>
      </div>
      {danger !== undefined && (
        <Confirm
          title={DANGERS[danger].title}
          action={`${DANGERS[danger].action} ${id}`}
          onClose={() => setDanger(undefined)}
          onYes={() => act(() => post(`${path}/${danger}`, undefined, { idempotencyKey: newKey() }), onClose)}
        >
          {DANGERS[danger].about}
        </Confirm>
      )}
    </Modal>
  );
}
