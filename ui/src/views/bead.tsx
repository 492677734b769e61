import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, type ReactNode } from 'react';
import { useKeys } from '../lib/keys.js';
import { loading } from '../lib/part.js';
import { BeadPane } from '../parts/bead-pane.js';
import { Icon } from '../parts/icons.js';
import { Loading, Tabs } from '../parts/page.js';

const Graph = lazy(loading(() => import('../graph/bead-graph.js').then(({ BeadGraph }) => ({ default: BeadGraph }))));
const Timeline = lazy(loading(() => import('../timeline/bead-timeline.js').then(({ BeadTimeline }) => ({ default: BeadTimeline }))));

const TABS = [
  ['about', 'About'],
  ['timeline', 'Timeline'],
  ['graph', 'Graph'],
] as const;
type Tab = (typeof TABS)[number][0];

/** A bead by its own address. */
export function BeadPage(): ReactNode {
  const { city, id } = useParams({ from: '/c/$city/beads/$id' });
  const { tab: asked } = useSearch({ from: '/c/$city/beads/$id' });
  const navigate = useNavigate({ from: '/c/$city/beads/$id' });
  const tab: Tab = TABS.find(([one]) => one === asked)?.[0] ?? 'about';
  const show = (next: Tab): void => void navigate({ search: next === 'about' ? {} : { tab: next }, replace: true });
  useKeys('This bead', [
    { keys: 'u', label: 'back to the beads', run: () => void navigate({ to: '/c/$city/beads', params: { city }, search: {} }) },
    {
      keys: '[',
      label: 'reading before',
      repeats: true,
      run: () => show(TABS[Math.max(0, TABS.findIndex(([one]) => one === tab) - 1)]![0]),
    },
    { keys: ']', label: 'next reading', repeats: true, run: () => show(TABS[Math.min(2, TABS.findIndex(([one]) => one === tab) + 1)]![0]) },
  ]);
  return (
    <div className="h-full overflow-auto">
      <div className={`mx-auto p-3 md:p-8 ${tab === 'about' ? 'max-w-3xl' : 'max-w-6xl'}`}>
        <Link
          to="/c/$city/beads"
          params={{ city }}
          className="inline-flex items-center gap-1 rounded-md px-2 py-1.5 text-sm text-muted hover:bg-raised"
        >
          <Icon name="back" /> Beads of {city}
        </Link>
        <h1 className="sr-only">Bead {id}</h1>
        <div className="mt-2 rounded-xl border border-line bg-panel">
          <div className="px-4 pt-2">
            <Tabs label="Readings of the bead" tabs={TABS} value={tab} onChange={show} />
          </div>
          <BeadPane key={`${city}/${id}`} city={city} id={id}>
            {tab === 'about' ? undefined : (
              <Suspense fallback={<Loading />}>
                {tab === 'graph' ? <Graph city={city} id={id} /> : <Timeline city={city} id={id} />}
              </Suspense>
            )}
          </BeadPane>
        </div>
      </div>
    </div>
  );
}
