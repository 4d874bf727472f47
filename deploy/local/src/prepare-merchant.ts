import { SETTINGS_MERCHANT_ID } from '@opentill/contracts/ops/fields';
import { LOGO } from '@opentill/demo-shop/pictures';
import { openStartDatabase } from './open-start-database.ts';

/** Sets the demo shop's profile on the checkout page. Keeps a profile that has a logo or a mail address. */
export async function prepareMerchant(adminUrl: string, shopUrl: string): Promise<void> {
  const database = openStartDatabase(adminUrl);
  try {
    await database.kysely
      .updateTable('merchant')
      .set({
        logo: Buffer.from(LOGO),
        logo_type: 'image/svg+xml',
        accent_color: '#1f6b50',
        support_email: 'help@pebble-and-pine.example',
        shop_url: shopUrl,
      })
      .where('merchant_id', '=', SETTINGS_MERCHANT_ID)
      .where('logo', 'is', null)
      .where('support_email', 'is', null)
      .execute();
  } finally {
    await database.close();
  }
}
