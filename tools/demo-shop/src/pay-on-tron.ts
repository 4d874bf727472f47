import { tronAddressCodec } from '@opentill/chain-tron/address-codec';
import { askDevnetToPay } from './ask-devnet-to-pay.ts';
import type { TokenPayment } from './token-payment.ts';

/**
 * The customer of the TRON devnet: the first account of `opentill devnet tron`, which prints its key at every start. It is
 * worth nothing anywhere else.
 */
export const TRON_CUSTOMER = {
  address: 'TYutY94JEfgZtSByUA9E3RSR1ghfSH5ox1',
  privateKey: 'ffb6b97b1763ded05630dfdcd0da1b15ddd0f0a4ac6db151d5fa0399cf63cd7f',
};

/** Has the devnet sign and send a transfer of its first account. Throws DevnetRefusal. */
export const payOnTron = (payment: TokenPayment): Promise<string> =>
  askDevnetToPay(payment, (text) => tronAddressCodec.parse(text) !== undefined, 'txids');
