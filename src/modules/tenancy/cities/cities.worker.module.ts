import { Module } from '@nestjs/common';
import { ReservationSweeper } from './reservation-sweeper.js';
import { ReservationsRepository } from './reservations.repository.js';

/** What a worker does for cities that are being made: the remains of dead creators. */
@Module({ providers: [ReservationSweeper, ReservationsRepository] })
export class CitiesWorkerModule {}
