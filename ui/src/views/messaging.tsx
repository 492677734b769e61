import { useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Frame, Tabs } from './admin/frame.js';
import { Adapters } from './messaging/adapters.js';
import { Bindings } from './messaging/bindings.js';
import { Conversation } from './messaging/conversation.js';
import { Deliveries } from './messaging/deliveries.js';

const TABS = [
  ['', 'Bindings'],
  ['conversation', 'Conversation'],
  ['deliveries', 'Deliveries'],
  ['adapters', 'Adapters'],
] as const;

/** Chats elsewhere: who answers in which, what was said there, and what is on its way. */
export function Messaging(): ReactNode {
  const { city } = useParams({ from: '/c/$city/messaging' });
  const { tab = '' } = useSearch({ from: '/c/$city/messaging' });
  return (
    <Frame
      title="Messaging"
      city={city}
      about="Chats elsewhere in which sessions answer"
      tabs={
        <Tabs
          now={tab}
          tabs={TABS.map(([name, label]) => ({ name, label }))}
          link={(name) => ({ to: '/c/$city/messaging', params: { city }, search: name === '' ? {} : { tab: name } })}
        />
      }
    >
      {tab === 'adapters' ? (
        <Adapters city={city} />
      ) : tab === 'deliveries' ? (
        <Deliveries city={city} />
      ) : tab === 'conversation' ? (
        <Conversation city={city} />
      ) : (
        <Bindings city={city} />
      )}
    </Frame>
  );
}
