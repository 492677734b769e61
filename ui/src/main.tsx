import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import './styles.css';
import { ask, watchSigning } from './api/info.js';
import { findKey } from './api/key.js';
import { router } from './app/router.js';
import { listenForKeys } from './lib/keys.js';
import { tellOfAsks } from './live/notices.js';
import { followSupervisor } from './live/supervisor.js';

await findKey();
watchSigning();
listenForKeys();
void ask();
followSupervisor();
tellOfAsks(() => void router.navigate({ to: '/' }));
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <RouterProvider router={router} />
  </StrictMode>,
);
