import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState, type ReactNode } from 'react';
import { get, inCity, post } from '../api/client.js';
import { useForbidden } from '../api/info.js';
import * as needs from '../api/needs.gen.js';
import type { Schemas } from '../api/types.js';
import { startable } from '../lib/agent-start.js';
import { useHere } from '../lib/here.js';
import { useWishes } from '../lib/wishes.js';
import { follow, tellOf, whyOf } from '../live/operations.js';
import { Button, Field, Problem } from './basics.js';

/** Who may be started: the agents of the city, and bare providers. */
function useCandidates(city: string): readonly (readonly [kind: 'agent' | 'provider', name: string, shown: string])[] | undefined {
  const [found, setFound] = useState<readonly (readonly ['agent' | 'provider', string, string])[]>();
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    void Promise.all([
      get<{ items: { name: string; pool?: string }[] | null }>(inCity(city, 'agents'), { signal }).catch(() => ({ items: [] })),
      get<Schemas['ProviderPublicListBody']>(inCity(city, 'providers/public'), { signal }).catch(() => ({ items: [] })),
      get<Schemas['CityGetResponse']>(inCity(city), { signal }).catch(() => undefined),
    ]).then(([agents, providers, about]) => {
      if (signal.aborted) return;
      const bare = [...providers.items].sort((a, b) => Number(b.name === about?.provider) - Number(a.name === about?.provider));
      setFound([
        ...bare.map(({ name, display_name }) => ['provider', name, display_name ?? name] as const),
        ...startable(agents.items ?? []).map((name) => ['agent', name, name] as const),
      ]);
    });
    return () => stop.abort();
  }, [city]);
  return found;
}

export function CreateSession({ city, onCancel }: { city: string; onCancel: () => void }): ReactNode {
  const candidates = useCandidates(city);
  const [chosen, choose] = useState<string>();
  const [title, setTitle] = useState('');
  const [message, setMessage] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const wishes = useWishes();
  const navigate = useNavigate();
  const here = useHere();
  const not = useForbidden(needs.createSession);
  const value = chosen ?? (candidates?.[0] === undefined ? '' : `${candidates[0][0]} ${candidates[0][1]}`);
  const create = async (): Promise<void> => {
    // Its keys send the form also while its button waits, or is off.
    if (busy || not !== undefined || value === '') return;
    const [kind, ...name] = value.split(' ');
    setBusy(true);
    setError(undefined);
    const isStillHere = here();
    try {
      const body = {
        kind,
        name: name.join(' '),
        ...(title.trim() === '' ? {} : { title: title.trim() }),
        ...(message.trim() === '' ? {} : { message }),
      };
      const { request_id } = await wishes.send(body, (idempotencyKey) =>
        post<{ request_id: string }>(inCity(city, 'sessions'), body, { idempotencyKey }),
      );
      const end = await follow(`Start a session of ${name.join(' ')}`, request_id, true);
      if (end.type === 'request.failed') throw new Error(whyOf(end));
      const { id } = end.payload.session as { id: string };
      if (!isStillHere()) return tellOf(request_id);
      void navigate({ to: '/c/$city/sessions/$id', params: { city, id } });
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  };
  const groups = [
    ['provider', 'Providers, without an agent'],
    ['agent', 'Agents'],
  ] as const;
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <Field label="Who">
        {(id) => (
          <select
            id={id}
            value={value}
            disabled={candidates === undefined}
            onChange={(event) => choose(event.target.value)}
            className="field"
          >
            {groups.map(([kind, label]) => {
              const some = (candidates ?? []).filter(([of]) => of === kind);
              return some.length === 0 ? null : (
                <optgroup key={kind} label={label}>
                  {some.map(([, name, shown]) => (
                    <option key={name} value={`${kind} ${name}`}>
                      {shown}
                    </option>
                  ))}
                </optgroup>
              );
            })}
          </select>
        )}
      </Field>
      <Field label="First message">
        {(id) => (
          <textarea
            id={id}
            data-first=""
            rows={4}
            value={message}
            onChange={(event) => setMessage(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) event.currentTarget.form?.requestSubmit();
            }}
            className="field"
          />
        )}
      </Field>
      <Field label="Title (may stay empty)">
        {(id) => <input id={id} value={title} onChange={(event) => setTitle(event.target.value)} className="field" />}
      </Field>
      {error !== undefined && <Problem error={error} />}
      <div className="flex justify-end gap-2">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" look="primary" not={not} disabled={busy || value === ''}>
          {busy ? 'Starting …' : 'Start the session'}
        </Button>
      </div>
    </form>
  );
}
