import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../../configuration/config/config-core.module.js';
import { UsageSync } from './usage-sync.js';
import { UsageSyncRepository } from './usage-sync.repository.js';

/** What a worker does so that what many cities use can be counted at once. */
@Module({ imports: [ConfigCoreModule], providers: [UsageSync, UsageSyncRepository] })
export class UsageWorkerModule {}
