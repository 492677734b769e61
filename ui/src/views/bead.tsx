import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { BeadPane } from '../parts/bead-pane.js';
import { Icon } from '../parts/icons.js';

/** A bead by its own address. */
export function BeadPage(): ReactNode {
  const { city, id } = useParams({ from: '/c/$city/beads/$id' });
  return (
    <div className="h-full overflow-auto">
      <div className="mx-auto max-w-3xl p-3 md:p-8">
        <Link
          to="/c/$city/beads"
          params={{ city }}
          className="inline-flex items-center gap-1 rounded-md px-2 py-1.5 text-sm text-muted hover:bg-raised"
        >
          <Icon name="back" /> Beads of {city}
        </Link>
        <h1 className="sr-only">Bead {id}</h1>
        <div className="mt-2 rounded-xl border border-line bg-panel">
          <BeadPane key={`${city}/${id}`} city={city} id={id} />
        </div>
      </div>
    </div>
  );
}
