import type { ReactNode } from 'react';
import { get, inCity } from '../../api/client.js';
import type { Schemas } from '../../api/types.js';
import { Button, Problem } from '../../parts/basics.js';
import { plotted } from '../admin/buckets.js';
import { Plot } from '../admin/plot.js';
import { useRead } from '../admin/read.js';
import { short } from '../admin/units.js';
import { queryOf, type EventFilter } from './filter.js';

const GATHER_MS = 2_000;
const RANGES = ['1h', '6h', '24h', '168h'] as const;

interface Props {
  readonly city: string | undefined;
  readonly filter: EventFilter;
  readonly stream: string;
  readonly range: string;
  readonly by: string;
  readonly onRange: (range: string) => void;
  readonly onBy: (by: string) => void;
  readonly onStretch: (since: string, until: string) => void;
}

/** How much has happened, over time: a bucket leads to what was in it. */
export function Histogram({ city, filter, stream, range, by, onRange, onBy, onStretch }: Props): ReactNode {
  const { since: _since, until: _until, ...rest } = filter;
  const query = { ...queryOf(rest), since: range, by };
  const reading = useRead(
    `histogram ${city ?? ''} ${JSON.stringify(query)}`,
    (signal) =>
      get<Schemas['EventHistogramBody']>(city === undefined ? '/v0/events/histogram' : inCity(city, 'events/histogram'), { query, signal }),
    { stream, gatherMs: GATHER_MS },
  );
  const body = reading.data;
  return (
    <section aria-label="How much has happened" className="border-b border-line bg-panel px-4 pb-2 pt-3">
      {reading.error !== undefined && <Problem error={reading.error} onRetry={reading.again} />}
      {body !== undefined && (
        <Plot
          of={plotted(body.points, body, ({ count }) => count)}
          label="Events"
          format={short}
          height={110}
          onBucket={(at) => onStretch(new Date(at).toISOString(), new Date(at + body.bucket_s * 1000).toISOString())}
        />
      )}
      <div className="flex flex-wrap gap-1.5">
        {RANGES.map((one) => (
          <Button
            key={one}
            look="quiet"
            aria-pressed={one === range}
            className="aria-pressed:bg-tint aria-pressed:text-accent"
            onClick={() => onRange(one)}
          >
            {one === '168h' ? '7d' : one}
          </Button>
        ))}
        {body?.total_is_estimate === true && (
          <span className="self-center text-xs text-muted">about: there are too many to count each</span>
        )}
        <Button look="quiet" className="ml-auto" onClick={() => onBy(by === 'type' ? 'actor' : 'type')}>
          {by === 'type' ? 'by type' : 'by actor'}
        </Button>
      </div>
    </section>
  );
}
