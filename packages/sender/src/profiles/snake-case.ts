/**
 * A name in snake_case, as audiences and computed traits are sent (spec section 6): `"Big Spenders"` is
 * `big_spenders`, `"highValueUSCustomer"` is `high_value_us_customer`. Letters and digits of every script are kept.
 */
export function snakeCase(name: string): string {
  return name
    .normalize("NFC")
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1_$2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1_$2")
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, "_")
    .replaceAll(/^_+|_+$/g, "")
    .toLowerCase();
}
