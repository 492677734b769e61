import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useRef, type ReactNode } from 'react';
import { get, inCity } from '../api/client.js';
import type { Schemas } from '../api/types.js';
import { useKeys } from '../lib/keys.js';
import { visible } from '../lib/text.js';
import { kinds, useCityRead } from '../live/use-read.js';
import { oldSince } from '../parts/as-of.js';
import { Age, State } from '../parts/basics.js';
import { useListKeys } from '../parts/list-keys.js';
import { countOf, Filter, List, ListRow } from '../parts/list-view.js';
import { comesOf, OrderSwitch, OutcomeOf, Until } from '../parts/order-parts.js';
import { CityPage } from '../parts/page.js';

/** What a city does again and again, the next one first. */
export function Orders(): ReactNode {
  const { city } = useParams({ from: '/c/$city/orders' });
  const { q = '' } = useSearch({ from: '/c/$city/orders' });
  const navigate = useNavigate({ from: '/c/$city/orders' });
  const { data, error, asOf, again } = useCityRead(
    city,
    'orders',
    (signal) => get<Schemas['OrderListBody']>(inCity(city, 'orders'), { query: { limit: 1000 }, signal }),
    kinds('order.', 'config.', 'pack.'),
  );
  const all = data?.orders ?? [];
  const rows = useMemo(() => {
    const words = q.toLowerCase();
    const due = ({ enabled, next_due_at: at }: Schemas['OrderResponse']): string => (enabled && at !== undefined ? at : '9');
    return all
      .filter(({ scoped_name, description, formula }) =>
        [scoped_name, description, formula].some((text) => text?.toLowerCase().includes(words) === true),
      )
      .sort((a, b) => due(a).localeCompare(due(b)) || a.scoped_name.localeCompare(b.scoped_name));
  }, [all, q]);
  const filter = useRef<HTMLInputElement>(null);
  const at = useListKeys(
    'Orders',
    rows.map(({ scoped_name }) => scoped_name),
    undefined,
    (name) => {
      if (name !== undefined) void navigate({ to: '/c/$city/orders/$name', params: { city, name } });
    },
  );
  useKeys('Orders of the city', [{ keys: '/', label: 'filter', run: () => filter.current?.focus() }]);
  return (
    <CityPage
      city={city}
      title="Orders"
      count={data === undefined ? undefined : countOf(rows.length, all.length)}
      error={error ?? (data?.errors?.length ? new Error(data.errors.join('; ')) : undefined)}
      onRetry={again}
      asOf={oldSince({ error, asOf })}
      tools={
        <Filter
          label="Filter orders"
          value={q}
          box={filter}
          onChange={(words) => void navigate({ search: words === undefined ? {} : { q: words }, replace: true })}
        />
      }
    >
      <List
        label="Orders"
        rows={data === undefined ? undefined : rows}
        failed={error !== undefined}
        none={[
          'This city has no orders',
          <p>
            An order is what is done by the clock, at an event, or when somebody asks: a command, or a formula. It is a file in orders/ of
            the city or of a pack.
          </p>,
        ]}
        filtered={
          all.length === 0
            ? undefined
            : { title: `0 of ${all.length}`, clear: 'Clear the filter', onClear: () => void navigate({ search: {} }) }
        }
        row={(order) => (
          <ListRow
            key={order.scoped_name}
            kind="data-order"
            id={order.scoped_name}
            here={order.scoped_name === at}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2"
          >
            <span className="min-w-0 flex-1 basis-full @xl:basis-48">
              <Link
                to="/c/$city/orders/$name"
                params={{ city, name: order.scoped_name }}
                className="block truncate font-medium hover:underline"
              >
                {visible(order.scoped_name)}
              </Link>
              <span className="block truncate text-xs text-muted">
                {comesOf(order)} · {order.type === 'formula' ? `the formula ${visible(order.formula ?? '')}` : 'a command'}
              </span>
              {order.errors !== undefined && order.errors.length > 0 && (
                <span className="words block text-xs text-bad">{visible(order.errors.join('; '))}</span>
              )}
            </span>
            <span className="w-32 text-sm">
              {order.last_run === undefined ? (
                <span className="text-muted">never fired</span>
              ) : (
                <span className="flex items-center gap-2">
                  <OutcomeOf outcome={order.last_run_outcome} /> <Age at={order.last_run} />
                </span>
              )}
            </span>
            <span className="flex-1 text-sm @xl:w-24 @xl:flex-none">
              {order.enabled ? (
                order.next_due_at === undefined ? (
                  <span className="text-muted">{order.trigger === 'manual' ? 'by hand' : 'waits'}</span>
                ) : (
                  <Until at={order.next_due_at} />
                )
              ) : (
                <State tone="quiet">paused</State>
              )}
            </span>
            <OrderSwitch city={city} order={order} onDone={again} />
          </ListRow>
        )}
      />
    </CityPage>
  );
}
