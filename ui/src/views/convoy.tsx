import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ConvoyPane } from '../parts/convoy-pane.js';
import { Icon } from '../parts/icons.js';

/** A convoy by its own address. */
export function ConvoyPage(): ReactNode {
  const { city, id } = useParams({ from: '/c/$city/convoys/$id' });
  return (
    <div className="h-full overflow-auto">
      <div className="mx-auto max-w-3xl p-3 md:p-8">
        <Link
          to="/c/$city/convoys"
          params={{ city }}
          className="inline-flex items-center gap-1 rounded-md px-2 py-1.5 text-sm text-muted hover:bg-raised"
        >
          <Icon name="back" /> Convoys of {city}
        </Link>
        <h1 className="sr-only">Convoy {id}</h1>
        <div className="mt-2 rounded-xl border border-line bg-panel">
          <ConvoyPane key={`${city}/${id}`} city={city} id={id} />
        </div>
      </div>
    </div>
  );
}
