import { Module } from '@nestjs/common';
import { Isolation } from '../../../platform/isolation/isolation.js';
import { IsolationModule } from '../../../platform/isolation/isolation.module.js';
import { ProbeHost } from './probes/host.js';
import { ProviderHostsService } from './provider-hosts.service.js';
import { ProviderProber } from './provider-prober.js';
import { ProvidersRepository } from './providers.repository.js';

/** What a worker does for providers: look whether they can be used on its host. Needs the processes room in the root. */
@Module({
  imports: [IsolationModule],
  providers: [
    ProviderProber,
    ProviderHostsService,
    ProvidersRepository,
    {
      provide: ProbeHost,
      useFactory: (isolation: Isolation) => new ProbeHost(undefined, undefined, isolation),
      inject: [Isolation],
    },
  ],
  exports: [ProviderHostsService, ProbeHost],
})
export class ProvidersWorkerModule {}
