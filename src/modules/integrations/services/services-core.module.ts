import { Module } from '@nestjs/common';
import { HopSecret } from './hop-secret.js';
import { OwnedSockets } from './owned-sockets.js';
import { ServiceLinesRepository } from './service-lines.repository.js';

/** What those who ask for services and those who have them share. */
@Module({
  providers: [HopSecret, OwnedSockets, ServiceLinesRepository],
  exports: [HopSecret, OwnedSockets, ServiceLinesRepository],
})
export class ServicesCoreModule {}
