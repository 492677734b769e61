import type { ReactNode } from 'react';

const PATHS = {
  inbox: 'M3 12h5l1.5 3h5L16 12h5M5 5h14l2 7v6a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1v-6z',
  cities: 'M3 20V10l6-4v14M9 20V4l6 3v13M15 20v-8l6 2v6M2 20h20',
  sessions: 'M4 5h16v11H9l-5 4z',
  beads: 'M5 6h.01M5 12h.01M5 18h.01M10 6h10M10 12h10M10 18h10',
  events: 'M3 12h4l3-7 4 14 3-7h4',
  settings: 'M4 7h10M18 7h2M4 17h4M12 17h8M14 4v6M8 14v6',
  search: 'M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M20 20l-4-4',
  sun: 'M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.5 1.5M17.5 17.5 19 19M5 19l1.5-1.5M17.5 6.5 19 5',
  moon: 'M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10',
  back: 'M15 5l-7 7 7 7',
  plus: 'M12 5v14M5 12h14',
  copy: 'M8 8h12v12H8zM16 8V4H4v12h4',
  close: 'M6 6l12 12M18 6 6 18',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  switch: 'M8 9l4-4 4 4M8 15l4 4 4-4',
  overview: 'M4 4h7v7H4zM13 4h7v4h-7zM13 11h7v9h-7zM4 14h7v6H4z',
  ready: 'M8 5v14l11-7z',
  convoys: 'M3 7h9v9H3zM12 10h5l4 3v3h-9zM7 19h.01M17 19h.01',
  runs: 'M5 5h5v5H5zM14 14h5v5h-5zM10 7.5h4a2.5 2.5 0 0 1 2.5 2.5v4',
  formulas: 'M9 3h6M10 3v6l-5 9a2 2 0 0 0 2 3h10a2 2 0 0 0 2-3l-5-9V3M8 15h8',
  orders: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16M12 8v4l3 2',
  waits: 'M7 3h10M7 21h10M8 3v4l4 5-4 5v4M16 3v4l-4 5 4 5v4',
  mail: 'M3 6h18v12H3zM3 7l9 6 9-6',
  agents: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8M4 21c0-4 4-6 8-6s8 2 8 6',
  usage: 'M4 20V10M10 20V4M16 20v-8M21 20H3',
  config: 'M7 3h7l5 5v13H7zM14 3v5h5M10 13h6M10 17h6',
  packs: 'M12 3l8 4.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  rigs: 'M6 4v12M6 20a2 2 0 1 0 0-4 2 2 0 0 0 0 4M18 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4M18 8c0 5-12 3-12 8',
  providers: 'M8 3v5M16 3v5M6 8h12v3a6 6 0 0 1-12 0zM12 17v4',
  patches: 'M4 12l8-8 8 8-8 8zM9 12h6M12 9v6',
  messaging: 'M4 5h12v9H9l-5 4zM20 9v11l-4-3h-5',
  services: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
  runners: 'M4 5h16v11H4zM9 20h6M12 16v4',
  keys: 'M8 10a4 4 0 1 0 0 8 4 4 0 0 0 0-8M11 11l8-8M16 6l3 3',
  health: 'M12 20S4 15 4 9a4 4 0 0 1 8-1 4 4 0 0 1 8 1c0 6-8 11-8 11z',
  audit: 'M9 3h6v4H9zM9 5H5v16h14V5h-4M9 14l2 2 4-4',
  maintenance: 'M14 6a4 4 0 0 1 5-3l-3 3 2 2 3-3a4 4 0 0 1-5 5l-8 8a2 2 0 0 1-3-3l8-8a4 4 0 0 1 1-1',
} as const;
export type IconName = keyof typeof PATHS;

export const Icon = ({ name, size = 18 }: { name: IconName; size?: number }): ReactNode => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth="1.8"
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
    className="shrink-0"
  >
    <path d={PATHS[name]} />
  </svg>
);
