/**
 * Bookings by hand: each is kept with the block up to which it was measured, matched with the transfers that it stands for, and
 * can be reversed. Coin booked for fees becomes payable when the coin becomes an asset. A top-up is checked against a balance
 * of the chain before it is booked. Only added to.
 */
import { BACKFILL, BARRIER, BOOKING, TABLES } from './0028-hand-bookings/booking.ts';
import { CHECKING, REVERSING } from './0028-hand-bookings/checking.ts';
import { MATCHING, SETTLING } from './0028-hand-bookings/matching.ts';

export const name = '0028-hand-bookings';

export const sql = [TABLES + BOOKING, BARRIER, BACKFILL, MATCHING, SETTLING, CHECKING, REVERSING];
