import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../../../platform/idempotency/idempotency.module.js';
import { CitiesModule } from '../../tenancy/cities/cities.module.js';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { PacksCoreModule } from './packs-core.module.js';
import { PacksController } from './packs.controller.js';
import { PacksService } from './packs.service.js';

/** The imports of cities over HTTP. */
@Module({
  imports: [CitiesModule, ConfigCoreModule, IdempotencyModule, PacksCoreModule],
  controllers: [PacksController],
  providers: [PacksService],
})
export class PacksModule {}
