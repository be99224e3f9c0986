// Linked with the whole archive of one layer (see tfvm_link_test): that it links is the test.
int main() { return 0; }
