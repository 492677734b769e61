import { Module } from '@nestjs/common';
import { ProvidersRepository } from './providers.repository.js';
import { ProvidersService } from './providers.service.js';
import { ReadinessController } from './readiness.controller.js';

@Module({
  controllers: [ReadinessController],
  providers: [ProvidersService, ProvidersRepository],
  exports: [ProvidersService],
})
export class ProvidersModule {}
