import { useEffect, useId, useRef, useState, type PointerEvent, type ReactNode } from 'react';
import { visible } from '../lib/text.js';
import { Button } from '../parts/basics.js';
import type { Lane, Span, SpanTone } from './lanes.js';

const LANE_PX = 30;
const BAR_PX = 18;
const HEAD_PX = 22;
const NAMES_PX = 110;
const LEAST_PX = 2;
/** A drag that is shorter was a click. */
const BRUSH_PX = 6;

const FILL: Readonly<Record<SpanTone, string>> = {
  good: 'fill-good',
  warn: 'fill-warn',
  bad: 'fill-bad',
  quiet: 'fill-muted',
  accent: 'fill-accent',
  person: 'fill-warn',
};

const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000,
];

/** Where the times stand above the lanes: at round ones, some hundred pixels apart. */
function ticksOf(from: number, to: number, width: number): readonly number[] {
  const most = Math.max(2, Math.floor(width / 110));
  const step = 1000 * (STEPS.find((s) => (to - from) / 1000 / s <= most) ?? STEPS.at(-1)!);
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to && ticks.length <= most; at += step) ticks.push(at);
  return ticks;
}

const clock = (at: number, range: number): string =>
  new Date(at).toLocaleString(
    undefined,
    range > 172_800_000
      ? { month: 'short', day: 'numeric', hour: '2-digit' }
      : { hour: '2-digit', minute: '2-digit', ...(range < 600_000 ? { second: '2-digit' } : {}) },
  );

interface Props {
  readonly lanes: readonly Lane[];
  readonly from: number;
  readonly to: number;
  /** What of it is looked at. */
  readonly zoom: { readonly from: number; readonly to: number } | undefined;
  readonly onZoom: (zoom: { from: number; to: number } | undefined) => void;
  readonly label: string;
}

/** Lanes over time, as lines of an image; a drag over it looks closer. What it says stands below as a list too. */
export function Chart({ lanes, from, to, zoom, onZoom, label }: Props): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  const [brush, setBrush] = useState<{ a: number; b: number }>();
  const hatch = useId();
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => entry !== undefined && setWidth(Math.max(240, entry.contentRect.width)));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  const names = width < 520 ? 74 : NAMES_PX;
  const first = zoom?.from ?? from;
  const last = Math.max(first + 1, zoom?.to ?? to);
  const scale = (width - names) / (last - first);
  const x = (at: number): number => names + (at - first) * scale;
  const timeAt = (px: number): number => first + (px - names) / scale;
  const height = HEAD_PX + lanes.length * LANE_PX;
  const place = (event: PointerEvent): number =>
    Math.max(names, Math.min(width, event.clientX - box.current!.getBoundingClientRect().left));
  const closer = (by: number): void => {
    const middle = (first + last) / 2;
    const half = ((last - first) / 2) * by;
    const next = { from: Math.max(from, middle - half), to: Math.min(to, middle + half) };
    onZoom(next.from <= from && next.to >= to ? undefined : next);
  };
  return (
    <div className="flex flex-col gap-2">
      <div ref={box} className="min-w-0 overflow-hidden">
        <svg
          role="img"
          aria-label={label}
          width={width}
          height={height}
          className="block touch-pan-y select-none"
          onPointerDown={(event) => {
            const a = place(event);
            event.currentTarget.setPointerCapture(event.pointerId);
            setBrush({ a, b: a });
          }}
          onPointerMove={(event) => setBrush((now) => (now === undefined ? now : { a: now.a, b: place(event) }))}
          onPointerCancel={() => setBrush(undefined)}
          onPointerUp={() => {
            if (brush !== undefined && Math.abs(brush.b - brush.a) > BRUSH_PX)
              onZoom({ from: timeAt(Math.min(brush.a, brush.b)), to: timeAt(Math.max(brush.a, brush.b)) });
            setBrush(undefined);
          }}
        >
          <defs>
            <pattern id={hatch} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <rect width="3" height="6" className="fill-panel" opacity="0.55" />
            </pattern>
            <clipPath id={`${hatch}-clip`}>
              <rect x={names} y="0" width={Math.max(0, width - names)} height={height} />
            </clipPath>
          </defs>
          {ticksOf(first, last, width - names).map((at) => (
            <g key={at}>
              <line x1={x(at)} x2={x(at)} y1={HEAD_PX - 4} y2={height} className="stroke-line" />
              <text x={x(at) + 3} y={HEAD_PX - 8} className="fill-muted text-[11px]">
                {clock(at, last - first)}
              </text>
            </g>
          ))}
          {lanes.map((lane, i) => (
            <g key={lane.name} transform={`translate(0 ${HEAD_PX + i * LANE_PX})`}>
              <line x1="0" x2={width} y1={LANE_PX - 0.5} y2={LANE_PX - 0.5} className="stroke-line" />
              <text x="0" y={LANE_PX / 2 + 4} className="fill-ink text-xs">
                {cut(visible(lane.name), names - 6)}
              </text>
              <g clipPath={`url(#${hatch}-clip)`}>
                {lane.spans
                  .filter((span) => (span.to ?? to) >= first && span.from <= last)
                  .map((span, n) => (
                    <Bar key={n} span={span} x={x} end={to} first={names} hatch={hatch} />
                  ))}
              </g>
            </g>
          ))}
          {brush !== undefined && (
            <rect
              x={Math.min(brush.a, brush.b)}
              y="0"
              width={Math.abs(brush.b - brush.a)}
              height={height}
              className="fill-accent"
              opacity="0.15"
            />
          )}
        </svg>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button onClick={() => closer(0.5)}>Closer</Button>
        <Button disabled={zoom === undefined} onClick={() => closer(2)}>
          Farther
        </Button>
        {zoom !== undefined && <Button onClick={() => onZoom(undefined)}>All of it</Button>}
      </div>
    </div>
  );
}

interface BarProps {
  readonly span: Span;
  readonly x: (at: number) => number;
  readonly end: number;
  readonly first: number;
  readonly hatch: string;
}

function Bar({ span, x, end, first, hatch }: BarProps): ReactNode {
  const left = Math.max(first - 2, x(span.from));
  const size = Math.max(LEAST_PX, x(span.to ?? end) - left);
  const y = (LANE_PX - BAR_PX) / 2;
  const text = cut(visible(span.label), size - 10);
  return (
    <g>
      <title>{`${visible(span.label)}: ${new Date(span.from).toLocaleString()} to ${span.to === undefined ? 'now' : new Date(span.to).toLocaleString()}`}</title>
      <rect x={left} y={y} width={size} height={BAR_PX} rx="3" className={FILL[span.tone]} opacity={span.tone === 'quiet' ? 0.4 : 0.85} />
      {span.tone === 'person' && <rect x={left} y={y} width={size} height={BAR_PX} rx="3" fill={`url(#${hatch})`} />}
      {text !== '' && (
        <text
          x={left + 5}
          y={LANE_PX / 2 + 4}
          className={`pointer-events-none text-[11px] ${span.tone === 'quiet' ? 'fill-ink' : 'fill-onaccent'}`}
        >
          {text}
        </text>
      )}
    </g>
  );
}

/** As many characters as there is room for; none rather than three. */
function cut(text: string, px: number): string {
  const most = Math.floor(px / 6.4);
  if (text.length <= most) return text;
  return most < 4 ? '' : `${text.slice(0, most - 1)}…`;
}
