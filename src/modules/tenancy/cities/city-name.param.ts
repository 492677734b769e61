import { z } from 'zod';

/** The path parameter `cityName`: any name with something visible in it; whether it names a city is the registry's to say. */
export const CityNameParam = z.string().min(1).regex(/\S/).describe('The name of the city.');
