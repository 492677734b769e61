import { useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { post } from '../api/client.js';
import { useHere } from '../lib/here.js';
import { useWishes } from '../lib/wishes.js';
import { useNoNewCity } from '../live/new-city.js';
import { follow, tellOf } from '../live/operations.js';
import { Button, Field, Problem } from './basics.js';
import { ProviderPicker } from './providers.js';

/** Makes a city; when it runs, the next step is its first session. */
export function CreateCity({ onDone, onCancel }: { onDone?: () => void; onCancel?: () => void }): ReactNode {
  const [dir, setDir] = useState('');
  const [provider, setProvider] = useState('loopback');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const wishes = useWishes();
  const navigate = useNavigate();
  const here = useHere();
  const not = useNoNewCity();
  const create = async (): Promise<void> => {
    setBusy(true);
    setError(undefined);
    const isStillHere = here();
    try {
      const body = { dir: dir.trim(), provider };
      const { request_id } = await wishes.send(body, (idempotencyKey) =>
        post<{ request_id: string }>('/v0/city', body, { idempotencyKey }),
      );
      onDone?.();
      const end = await follow(`Create city ${dir.trim()}`, request_id);
      const name = end.payload.name;
      const made = end.type !== 'request.failed' && typeof name === 'string';
      if (made && isStillHere()) return void navigate({ to: '/c/$city/sessions', params: { city: name }, search: { new: '1' } });
      if (made) tellOf(request_id);
      setBusy(false);
    } catch (refused) {
      setError(refused);
      setBusy(false);
    }
  };
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <Field label="Directory" hint="Below the directory of cities, or an absolute path on the host. Its last part is the city's name.">
        {(id) => (
          <input id={id} required value={dir} placeholder="my-city" onChange={(event) => setDir(event.target.value)} className="field" />
        )}
      </Field>
      <ProviderPicker value={provider} onChange={setProvider} />
      {error !== undefined && <Problem error={error} />}
      <div className="flex justify-end gap-2">
        {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
        <Button type="submit" look="primary" not={not} disabled={busy || dir.trim() === ''}>
          {busy ? 'Creating …' : 'Create the city'}
        </Button>
      </div>
    </form>
  );
}
