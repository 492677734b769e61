import { Module } from '@nestjs/common';
import { OutgoingModule } from '../outgoing/outgoing.module.js';
import { Isolation } from './isolation.js';
import { NetworkWalls } from './network/walls.js';

@Module({ imports: [OutgoingModule], providers: [Isolation, NetworkWalls], exports: [Isolation, NetworkWalls] })
export class IsolationModule {}
