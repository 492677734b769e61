import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { RosterModule } from '../roster/roster.module.js';
import { EffectiveSuspensionRepository } from './effective-suspension.repository.js';
import { EffectiveSuspension } from './effective-suspension.service.js';

/** The one rule of suspension, for every family that wakes, starts or stops sessions. */
@Module({
  imports: [ConfigCoreModule, RosterModule],
  providers: [EffectiveSuspension, EffectiveSuspensionRepository],
  exports: [EffectiveSuspension],
})
export class SuspensionModule {}
