import { evmAddressCodec } from '@opentill/chain-evm/address';
import { suiAddressCodec } from '@opentill/chain-sui/address-codec';
import { tronAddressCodec } from '@opentill/chain-tron/address-codec';
import type { AddressCodec } from '@opentill/chain/address-codec';

/** Address formats of the families that the gateway derives addresses for; a new family adds its codec here. */
export const FAMILY_CODECS: readonly AddressCodec[] = [evmAddressCodec, tronAddressCodec, suiAddressCodec];
