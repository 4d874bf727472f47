import { tronAddressCodec } from '@opentill/chain-tron/address-codec';
import { askDevnetToPay } from './ask-devnet-to-pay.ts';
import type { TokenPayment } from './token-payment.ts';

/** First account of `opentill devnet tron`, which prints this key at each start. Worthless on other chains. */
export const TRON_CUSTOMER = {
  address: 'TYutY94JEfgZtSByUA9E3RSR1ghfSH5ox1',
  privateKey: 'ffb6b97b1763ded05630dfdcd0da1b15ddd0f0a4ac6db151d5fa0399cf63cd7f',
};

/** Makes the devnet sign and send a transfer from its first account. Throws DevnetRefusal. */
export const payOnTron = (payment: TokenPayment): Promise<string> =>
  askDevnetToPay(payment, (text) => tronAddressCodec.parse(text) !== undefined, 'txids');
