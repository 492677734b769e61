import { useEffect, useState, type ReactNode } from 'react';
import { get } from '../api/client.js';
import type { Schemas } from '../api/types.js';
import { State } from './basics.js';

type Readiness = Schemas['ProviderReadiness'];

/** Which providers there are, and whether they can be used: those that are ready first. */
function useReadiness(): Readonly<Record<string, Readiness>> | undefined {
  const [found, setFound] = useState<Readonly<Record<string, Readiness>>>();
  useEffect(() => {
    const stop = new AbortController();
    get<Schemas['ProviderReadinessResponse']>('/v0/provider-readiness', { signal: stop.signal })
      .then(({ providers }) => setFound(providers))
      .catch(() => stop.signal.aborted || setFound({}));
    return () => stop.abort();
  }, []);
  return found;
}

const usable = ({ status }: Readiness): boolean => /^(ready|configured|ok)$/.test(status);

interface Props {
  readonly value: string;
  readonly onChange: (name: string) => void;
}

/** A provider with its readiness, and what mends it where it is not ready. */
export function ProviderPicker({ value, onChange }: Props): ReactNode {
  const readiness = useReadiness();
  const found = Object.entries(readiness ?? {}).sort(([a, x], [b, y]) => Number(usable(y)) - Number(usable(x)) || a.localeCompare(b));
  const all: (readonly [string, Readiness])[] = found.some(([name]) => name === 'loopback')
    ? found
    : [...found, ['loopback', { display_name: 'Loopback, an agent for trying out', status: 'ready' }]];
  return (
    <fieldset className="flex max-h-72 flex-col gap-1 overflow-auto">
      <legend className="mb-1 text-sm font-medium">Provider</legend>
      {all.map(([name, one]) => (
        <label
          key={name}
          className="flex items-start gap-2.5 rounded-md border border-line px-3 py-2 has-checked:border-accent has-checked:bg-tint"
        >
          <input type="radio" name="provider" className="mt-1" checked={value === name} onChange={() => onChange(name)} />
          <span className="min-w-0 flex-1">
            <span className="flex flex-wrap items-baseline gap-x-2">
              <span className="font-medium">{one.display_name}</span>
              <State tone={usable(one) ? 'good' : 'warn'}>{one.status.replaceAll('_', ' ')}</State>
            </span>
            {one.detail !== undefined && <span className="words block text-xs text-muted">{one.detail}</span>}
            {one.remedy !== undefined && (
              <span className="block text-xs text-muted">
                Mend it on the host: <code>{one.remedy}</code>
              </span>
            )}
          </span>
        </label>
      ))}
    </fieldset>
  );
}
