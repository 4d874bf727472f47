import { suiAddressCodec } from '@opentill/chain-sui/address-codec';
import { askDevnetToPay } from './ask-devnet-to-pay.ts';
import type { TokenPayment } from './token-payment.ts';

/** First account of `opentill devnet sui`, which prints this key at each start. Worthless on other chains. */
export const SUI_CUSTOMER = {
  address: '0x433d4d9bcdf6cd6cd882322828f89d86f84b58395d44e620bd55d3f29380b88c',
  privateKey: 'suiprivkey1qzr9w62gzkwvqxg6x5tc9tdtagrj24y3ktfzdra2nthrr6h0g467xhspafa',
};

/** Makes the devnet sign and execute a transfer from its first account. Throws DevnetRefusal. */
export const payOnSui = (payment: TokenPayment): Promise<string> =>
  askDevnetToPay(payment, (text) => suiAddressCodec.parse(text) !== undefined, 'digests');
