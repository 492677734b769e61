import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { EventLog, type EventSearch } from './events/log.js';

/** What happens in a city, as it happens. */
export function Events(): ReactNode {
  const { city } = useParams({ from: '/c/$city/events' });
  const search = useSearch({ from: '/c/$city/events' });
  const navigate = useNavigate({ from: '/c/$city/events' });
  return (
    <EventLog key={city} city={city} search={search} onSearch={(next: EventSearch, replace) => void navigate({ search: next, replace })} />
  );
}

/** What happens in all cities. */
export function AllEvents(): ReactNode {
  const search = useSearch({ from: '/events' });
  const navigate = useNavigate({ from: '/events' });
  return <EventLog city={undefined} search={search} onSearch={(next: EventSearch, replace) => void navigate({ search: next, replace })} />;
}
