import { Module } from '@nestjs/common';
import { ProviderHostsService } from './provider-hosts.service.js';
import { ProvidersRepository } from './providers.repository.js';
import { ProvidersService } from './providers.service.js';
import { ReadinessController } from './readiness.controller.js';

@Module({
  controllers: [ReadinessController],
  providers: [ProvidersService, ProviderHostsService, ProvidersRepository],
  exports: [ProvidersService, ProviderHostsService],
})
export class ProvidersModule {}
