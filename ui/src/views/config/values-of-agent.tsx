import type { ReactNode } from 'react';
import { get, inCity } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';
import { visible } from '../../lib/text.js';
import { kinds, useCityRead } from '../../live/use-read.js';
import { Empty, Problem } from '../../parts/basics.js';
import { Loading, Rows } from '../../parts/page.js';

/** What an agent is, and where that is written. */
export function ValuesOfAgent({ city, name }: { readonly city: string; readonly name: string }): ReactNode {
  const { data, error, again } = useCityRead(
    city,
    `written of ${name}`,
    (signal) =>
      get<Schemas['ConfigExplainResponse']>(inCity(city, 'config/explain'), {
        query: { path: `agents.${name.replaceAll('/', '.')}`, limit: 500 },
        signal,
      }).then((first) =>
        (first.values ?? []).length > 0
          ? first
          : get<Schemas['ConfigExplainResponse']>(inCity(city, 'config/explain'), {
              query: { path: `agents."${name}"`, limit: 500 },
              signal,
            }),
      ),
    kinds('config.', 'agent.', 'pack.', 'patch.'),
  );
  if (data === undefined) return error === undefined ? <Loading rows={3} /> : <Problem error={error} onRetry={again} />;
  const values = data.values ?? [];
  if (values.length === 0) return <Empty title="Nothing of it is written by itself" />;
  return (
    <Rows label={`What ${name} is, and where that is written`}>
      {values.map((one) => (
        <li key={one.path} className="grid gap-x-4 gap-y-0.5 px-4 py-2 text-sm @2xl:grid-cols-[14rem_1fr_18rem]">
          <code className="truncate text-xs" title={one.path}>
            {visible(one.path.replace(/^agents\.("[^"]*"|[^.[]+)\.?/, '') || one.path)}
          </code>
          <span className="words min-w-0">{visible(typeof one.value === 'string' ? one.value : JSON.stringify(one.value))}</span>
          <span className="truncate text-xs text-muted" title={`${one.file}: ${one.key}`}>
            {visible(one.file)}
            {one.key !== '' && ` · ${visible(one.key)}`}
          </span>
        </li>
      ))}
    </Rows>
  );
}
