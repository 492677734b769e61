import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { visible } from '../../lib/text.js';
import { ticks, type Plotted } from './buckets.js';
import { short } from './units.js';

interface PlotProps {
  readonly of: Plotted;
  readonly label: string;
  readonly format?: (n: number) => string;
  readonly height?: number;
  /** What somebody chooses of it: a stretch of time. */
  readonly onBucket?: (at: number) => void;
}

const LEFT = 44;
const BOTTOM = 18;
/** Pixels that a time below takes, with the space to the next. */
const TIME = 80;
const colour = (i: number): string => `var(--plot-${(i % 6) + 1})`;

/** Bars over time, the names stacked. Arrows go through the buckets; what is meant is told in words below. */
export function Plot({ of: { names, buckets, most }, label, format = short, height = 180, onBucket }: PlotProps): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  const [at, setAt] = useState<number>();
  useEffect(() => {
    if (box.current === null) return;
    const watch = new ResizeObserver(([entry]) => entry !== undefined && setWidth(Math.max(200, entry.contentRect.width)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const lines = ticks(most);
  const top = lines.at(-1)! || 1;
  const inner = { width: width - LEFT, height: height - BOTTOM };
  const step = inner.width / Math.max(1, buckets.length);
  const gap = step > 4 ? 1 : 0;
  const y = (value: number): number => inner.height - (value / top) * (inner.height - 6);
  const long = buckets.length > 1 && buckets.at(-1)!.at - buckets[0]!.at > 36 * 3_600_000;
  const timeOf = (time: number): string =>
    long
      ? new Date(time).toLocaleDateString(undefined, { month: 'short', day: 'numeric' })
      : new Date(time).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' });
  const every = Math.max(1, Math.ceil(buckets.length / Math.max(1, Math.floor(inner.width / TIME))));
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by !== 0) {
      event.preventDefault();
      setAt((before) => Math.max(0, Math.min(buckets.length - 1, (before ?? (by > 0 ? -1 : buckets.length)) + by)));
    } else if (event.key === 'Enter' && at !== undefined) onBucket?.(buckets[at]!.at);
  };
  const meant = at === undefined ? undefined : buckets[at];
  return (
    <figure className="flex flex-col gap-1.5">
      <div
        ref={box}
        tabIndex={0}
        role="group"
        aria-label={`${label}: arrows go through it`}
        data-plot={label}
        onKeyDown={onKeyDown}
        onPointerLeave={() => setAt(undefined)}
        onPointerMove={({ clientX, currentTarget }) => {
          const x = clientX - currentTarget.getBoundingClientRect().left - LEFT;
          setAt(x < 0 ? undefined : Math.min(buckets.length - 1, Math.floor(x / step)));
        }}
        onClick={() => (at === undefined ? undefined : onBucket?.(buckets[at]!.at))}
      >
        <svg width={width} height={height} aria-hidden="true" className="block max-w-full">
          {lines.map((line) => (
            <g key={line}>
              <line x1={LEFT} x2={width} y1={y(line)} y2={y(line)} stroke="var(--line)" />
              <text x={LEFT - 6} y={y(line)} dy="0.32em" textAnchor="end" fontSize="11" fill="var(--muted)">
                {format(line)}
              </text>
            </g>
          ))}
          {meant !== undefined && <rect x={LEFT + at! * step} y={0} width={step} height={inner.height} fill="var(--raised)" />}
          {buckets.map(({ at: time, values }, i) => {
            let below = 0;
            return (
              <g key={time}>
                {values.map((value, n) => {
                  if (value === 0) return null;
                  const y1 = y(below + value);
                  const tall = y(below) - y1;
                  below += value;
                  return (
                    <rect key={n} x={LEFT + i * step} y={y1} width={Math.max(1, step - gap)} height={Math.max(1, tall)} fill={colour(n)} />
                  );
                })}
                {i % every === 0 && (inner.width - i * step >= TIME - 20 || buckets.length === 1) && (
                  <text x={LEFT + i * step} y={height - 4} fontSize="11" fill="var(--muted)">
                    {timeOf(time)}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
      </div>
      <figcaption className="flex min-h-5 flex-wrap items-center gap-x-4 gap-y-1 text-xs">
        {meant === undefined ? (
          names.map((name, i) =>
            name === '' && names.length === 1 ? null : (
              <span key={name} className="inline-flex items-center gap-1.5">
                <Mark n={i} /> {name === '' ? 'not said' : visible(name)}
              </span>
            ),
          )
        ) : (
          <span role="status" className="inline-flex flex-wrap gap-x-4">
            <span className="font-medium">{new Date(meant.at).toLocaleString()}</span>
            <span>{format(meant.sum)}</span>
            {names.length > 1 &&
              names.map((name, i) =>
                meant.values[i] === 0 ? null : (
                  <span key={name} className="inline-flex items-center gap-1.5">
                    <Mark n={i} /> {name === '' ? 'not said' : visible(name)} {format(meant.values[i] ?? 0)}
                  </span>
                ),
              )}
          </span>
        )}
      </figcaption>
    </figure>
  );
}

const Mark = ({ n }: { n: number }): ReactNode => (
  <svg width="10" height="10" aria-hidden="true">
    <rect width="10" height="10" rx="2" fill={colour(n)} />
  </svg>
);
