import type { Chain } from '@opentill/domain/chains';
import { chain as chainSchema, NAME_PATTERN } from '../http/schema-words.ts';
import { bool, moment, object, orNull, text, words, type Schema } from './typed-schema.ts';

const MERCHANT_ID_PATTERN = '^[A-Za-z0-9_-]{1,64}$';
export const OPERATOR_ID_PATTERN = '^[a-z0-9][a-z0-9_-]{0,31}$';

/** The merchant of setup's environment. After a rotation, the next setup would restore its old token. */
export const SETTINGS_MERCHANT_ID = 'default';

export const merchantId = text("The merchant's id.", { pattern: MERCHANT_ID_PATTERN });
export const orderId = text("The merchant's order id.", { pattern: NAME_PATTERN });
export const linkId = text("The merchant's id of the payment link.", { pattern: NAME_PATTERN });
export const operatorId = text("The operator's id.", { pattern: OPERATOR_ID_PATTERN });
export const chain: Schema<Chain> = chainSchema;
export const symbol = text('Token symbol.', { pattern: '^[A-Za-z0-9._-]{1,32}$' });
/** An address, hash or digest as entered; looked up in the spellings of all families. */
export const chainWord = (description: string) => text(description, { pattern: '^[A-Za-z0-9:_.-]{1,200}$' });
export const reason = words('Reason; kept in the audit log.');
export const from = moment('Only from this time on.');
export const until = moment('Only before this time.');
export const openOnly = bool('true: only open ones; false: only ended ones.');
export const contractAddress = orNull(text('Token contract; null for the native coin.'));
export const pauseOf = (description: string) =>
  object(description, {
    operator: operatorId,
    reason: text('Reason.'),
    pausedAt: moment('Start of the pause.'),
  });
