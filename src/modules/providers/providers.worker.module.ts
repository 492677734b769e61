import { Module } from '@nestjs/common';
import { ProbeHost } from './probes/host.js';
import { ProviderHostsService } from './provider-hosts.service.js';
import { ProviderProber } from './provider-prober.js';
import { ProvidersRepository } from './providers.repository.js';

/** What a worker does for providers: look whether they can be used on its host. Needs the processes room in the root. */
@Module({
  providers: [ProviderProber, ProviderHostsService, ProvidersRepository, { provide: ProbeHost, useFactory: () => new ProbeHost() }],
  exports: [ProviderHostsService, ProbeHost],
})
export class ProvidersWorkerModule {}
